"""Every system call of every operation: the process is killed at it, or it fails.

Whatever happens, what was acknowledged is there afterwards, nothing is half, and the program goes on.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from agentmem.entries import CUT_OFF, parse
from agentmem.memory import Memory
from tests.faults.shim import Fault, faults_of
from tests.loopback import Provider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.faults.conftest import Commands, Ran

CANARY = "canary-4711"
RULED = "first\n\n---\n\nsecond"


# Times of entries and archives, names of temporary files, and the conversation's.
_OWN = re.compile(r"\d{4}-\d\d-\d\d[T_]\d\d[-:]\d\d[-:]\d\d(\.\d+\+\d\d:\d\d)?|[0-9a-f]{16}|_id_[0-9a-f-]+")


@dataclass(frozen=True)
class Operation:
    """A command to break.

    Attributes:
        words: the command.
        doomed: the text of the entries it removes.
        writes_memory: whether MEMORY.md is another one afterwards.
    """

    words: tuple[str, ...]
    doomed: str = ""
    writes_memory: bool = True


OPERATIONS = {
    "append": Operation(("chat", "Ada", "--no-stream", RULED)),
    "first append": Operation(("chat", "Grace", "--no-stream", RULED)),
    "compact": Operation(("compact", "Ada", "--summary", f"what was said\n\n{RULED}", "--keep-tokens", "0")),
    "undo": Operation(("compact", "Ada", "--undo")),
    "restore": Operation(("archives", "Ada", "latest", "--restore", "--yes")),
    "forget": Operation(("forget", "Ada", "--match", CANARY, "--summaries", "keep", "--yes"), doomed=CANARY),
    "export": Operation(("export", "Ada", "-f", "jsonl", "-o", "{root}/out.jsonl"), writes_memory=False),
    "export over": Operation(
        ("export", "Ada", "-f", "jsonl", "-o", "{root}/old.jsonl", "--force"), writes_memory=False
    ),
}


@dataclass
class Scene:
    """A copy of the small workspace, in which one fault happens."""

    root: Path
    commands: Commands
    url: str

    def run(self, *words: str, fault: Fault | None = None) -> Ran:
        filled = [word.format(root=self.root) for word in words]
        return self.commands.run(*filled, root=self.root, fault=fault, OPENAI_BASE_URL=self.url)

    def memory(self, agent: str = "Ada") -> Memory:
        return Memory(self.root / "agents" / agent)

    def archives(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.root.rglob("history_*.md")}

    def state(self) -> str:
        """Return what is on the disk but for what differs in every run: times, random names, process ids."""
        files = {
            str(path.relative_to(self.root)): path.read_bytes() if path.is_file() else b""
            for path in self.root.rglob("*")
            if path.name not in {"lock", "index.db"} and path.suffix != ".lock"
        }
        return _OWN.sub("", repr(sorted(files.items())))

    def texts(self) -> dict[str, list[str]]:
        """Return every text by the id of its entry, from memories and archives."""
        found: dict[str, list[str]] = {}
        for path in self.root.rglob("*.md"):
            for entry in parse(path.read_bytes()).entries:
                found.setdefault(entry.stamp, []).append(entry.text)
        return found


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as loopback:
        loopback.answers.append(lambda _body: RULED)
        yield loopback


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, commands: Commands, provider: Provider) -> Path:
    """Two agents' worth of history: an archive, an index, entries with rules and a canary in both files."""
    root = tmp_path_factory.mktemp("template")
    memory = Memory(root / "agents" / "Ada")
    for text in ("one", RULED, f"{CANARY} in the archive"):
        memory.append("User", text)
        memory.append("Ada", f"you said {text}" if CANARY not in text else "hm")
    memory.fold(memory.load()[1].snapshot(), "the first half")
    memory.append("User", f"{CANARY} in the memory")
    memory.append("Ada", RULED)
    # The notice that the first chat in a workspace gives is none of this test's business.
    assert commands.run("chat", "Ben", "hi", root=root, OPENAI_BASE_URL=provider.url).status == 0
    (root / "old.jsonl").write_text("an older export\n")
    assert commands.run("search", "Ada", "one", root=root).status == 0
    return root


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing cuts the power here, so that nothing needs to wait for the disk."""
    monkeypatch.setattr("os.fsync", lambda _fd: None)


@pytest.fixture
def scenes(template: Path, tmp_path: Path, commands: Commands, provider: Provider) -> Callable[[], Scene]:
    root = tmp_path / "workspace"

    def build() -> Scene:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root)
        return Scene(root, commands, provider.url)

    return build


def calls_of(operation: Operation, scenes: Callable[[], Scene]) -> list[str]:
    ran = scenes().run(*operation.words)
    assert ran.status == 0, ran.output
    return ran.calls


@pytest.mark.parametrize("name", OPERATIONS)
def test_kill_at_every_call(name: str, scenes: Callable[[], Scene], tell: Callable[[str], None]) -> None:
    operation = OPERATIONS[name]
    faults = [each for each in faults_of(calls_of(operation, scenes)) if each.kind in {"kill", "torn"}]
    states: set[str] = set()
    for fault in faults:
        scene = scenes()
        before = scene.texts()
        archived = scene.archives()
        memory_before = scene.memory().path.read_bytes()
        ran = scene.run(*operation.words, fault=fault)
        assert ran.status == -9, (fault, ran.output)
        left = scene.texts()
        for stamp, texts in before.items():
            if not operation.doomed or operation.doomed not in texts[0]:
                assert set(texts) <= set(left.get(stamp, [])), (fault, stamp)
        assert set(ran.acknowledged) <= set(left), fault
        extra = scene.archives().items() - archived.items()
        if not operation.doomed:
            assert len(extra) <= 1, fault
            assert all(content == memory_before for _, content in extra), fault
        if scene.state() not in states:
            states.add(scene.state())
            _goes_on(scene, name, fault)
    tell(f"{name}: killed at {len(faults)} points, which left {len(states)} states")


def _goes_on(scene: Scene, name: str, fault: Fault) -> None:
    """The program works on what a killed process left: nothing is fused, half, or in the way."""
    agent = OPERATIONS[name].words[1]
    existed = scene.memory(agent).exists()
    shown = scene.run("show", agent)
    assert shown.status == (0 if existed else 66), (fault, shown.output)
    looked = scene.run("doctor")
    assert looked.status in {0, 1}, (fault, looked.output)
    whole = [entry for entry in scene.memory(agent).read().entries if entry.terminated]
    talked = scene.run("chat", agent, "and then?")
    assert talked.status == 0, (fault, talked.output)
    entries = scene.memory(agent).read().entries
    assert [entry.text for entry in entries[-2:]] == ["and then?", RULED], fault
    known = {"one", RULED, "and then?"}
    for entry in entries:
        assert entry.terminated, fault
        if entry.text.endswith(CUT_OFF):
            assert entry.stamp not in {each.stamp for each in whole}, fault
        elif entry.role == "User" and CANARY not in entry.text:
            assert entry.text in known, fault
    again = scene.run(*OPERATIONS[name].words)
    assert again.status in {0, 2, 66}, (fault, again.output)  # 66: it was done already
    fixed = scene.run("doctor", "--fix")
    problems = [line for line in fixed.output.splitlines() if line.startswith("problem")]
    assert fixed.status == 0, (fault, problems)
    assert not list((scene.root / "agents").rglob(".tmp-*")), fault
    if OPERATIONS[name].doomed:
        for path in scene.root.rglob("*"):
            assert path.is_dir() or CANARY.encode() not in path.read_bytes(), (fault, path)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_call_fails_once(name: str, scenes: Callable[[], Scene], tell: Callable[[str], None]) -> None:
    operation = OPERATIONS[name]
    faults = [each for each in faults_of(calls_of(operation, scenes)) if each.kind not in {"kill", "torn"}]
    survived = 0
    for fault in faults:
        scene = scenes()
        before = scene.memory().path.read_bytes()
        texts = scene.texts()
        ran = scene.run(*operation.words, fault=fault)
        assert ran.status in {0, 74}, (fault, ran.output)
        assert "internal error" not in ran.output, (fault, ran.output)
        assert "Traceback" not in ran.output, (fault, ran.output)
        survived += not ran.status
        left = scene.texts()
        for stamp, said in texts.items():
            if not operation.doomed or operation.doomed not in said[0]:
                assert set(said) <= set(left.get(stamp, [])), (fault, stamp)
        assert set(ran.acknowledged) <= set(left), fault
        if ran.status == 74:
            assert ran.output.count("\n") == 1 or name == "forget", (fault, ran.output)
            assert "cannot" in ran.output, (fault, ran.output)
        after = scene.memory().path.read_bytes()
        if ran.status == 74 and not ran.acknowledged:
            assert after == before, (fault, ran.calls[fault.at - 2 : fault.at + 1], ran.output)
        assert (scene.root / "old.jsonl").read_text() == "an older export\n" or name == "export over"
        _is_not_fused(scene, operation.words[1], fault)
    tell(f"{name}: failed at {len(faults)} points, got by at {survived} of them")


def _is_not_fused(scene: Scene, agent: str, fault: Fault) -> None:
    memory = scene.memory(agent)
    before = memory.read().entries
    added = memory.append("User", "next")
    after = memory.read().entries
    assert after[:-1] == before, fault
    assert after[-1].raw == added.raw, fault


def test_kill_at_every_call_of_deleting_an_agent(
    scenes: Callable[[], Scene], tell: Callable[[str], None]
) -> None:
    words = ("forget", "Ada", "--all", "--yes")
    done = scenes().run(*words)
    assert done.status == 0, done.output
    for at in range(len(done.calls)):
        scene = scenes()
        before = scene.memory().path.read_bytes()
        ran = scene.run(*words, fault=Fault("kill", at))
        assert ran.status == -9, (at, ran.output)
        # The agent is there as it was, or there is none: no half of one.
        if scene.memory().folder.exists():
            assert scene.memory().path.read_bytes() == before, at
        assert scene.run("doctor", "--fix").status == 0, at
        assert scene.run(*words).status in {0, 66}, at
        for path in scene.root.rglob("*"):
            assert path.is_dir() or CANARY.encode() not in path.read_bytes(), (at, path)
    tell(f"delete: killed at {len(done.calls)} points")

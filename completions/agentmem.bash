# Completion of agentmem for bash: commands, options, and the names of agents, archives and models.

_agentmem_completion() {
    local IFS=$'\n' word
    COMPREPLY=()
    for word in $(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \
        _AGENTMEM_COMPLETE=complete_bash "$1" 2>/dev/null); do
        COMPREPLY+=("$(printf '%q' "$word")")
    done
}

complete -o default -F _agentmem_completion agentmem

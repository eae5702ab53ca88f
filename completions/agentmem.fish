# Completion of agentmem for fish: commands, options, and the names of agents, archives and models.

function __agentmem_complete
    env _AGENTMEM_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=$argv[1] \
        _TYPER_COMPLETE_ARGS=(commandline -cp) agentmem 2>/dev/null
end

complete --command agentmem --no-files --condition '__agentmem_complete is-args' \
    --arguments '(__agentmem_complete get-args)'

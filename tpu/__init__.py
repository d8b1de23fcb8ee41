"""Everything about XLA, on CPUs and TPUs: the StableHLO emitter, the PJRT client, compilation for TPU topologies."""

"""Several devices and several processes: pmap, shard_map, meshes and shardings."""

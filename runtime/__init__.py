"""Running programs: accelerate, arrays, transformations, dispatch, inspection."""

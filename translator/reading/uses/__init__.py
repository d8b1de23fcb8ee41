"""What can be done with a value: operators, attributes, subscripts, stores, iteration."""

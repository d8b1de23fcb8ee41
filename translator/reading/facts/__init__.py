"""What is known of values."""

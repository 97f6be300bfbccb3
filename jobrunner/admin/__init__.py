"""What a person or a deploy asks for, over many rows at once."""

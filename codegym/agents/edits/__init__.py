"""What policies have in common that repair by choosing one of many edits."""

"""CodeGym in the terms of other libraries. Each part imports its library only where it is used."""

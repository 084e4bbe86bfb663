"""The attacks, a module for each group of them; registered when ``catalogue`` asks for them."""

#: Imported in this order.
MODULES = ("git_refs",)

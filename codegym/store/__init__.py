"""What is kept on disk between processes: the cache folder, immutable layers, whole files."""

from codegym.store.cache import cache_dir
from codegym.store.files import replacing
from codegym.store.layers import LayerStore, Pruned

__all__ = ["LayerStore", "Pruned", "cache_dir", "replacing"]

"""Policies of the network, and the egress proxy's process as the gym sees it."""

from __future__ import annotations

from codegym.network.policy import NetworkPolicy, find_policy
from codegym.network.process import Proxy, ProxyConfig, Route

__all__ = ["NetworkPolicy", "Proxy", "ProxyConfig", "Route", "find_policy"]

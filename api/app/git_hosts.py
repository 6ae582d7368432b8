"""The composition of what reaches the hosts of upstreams, for the HTTP service and the command line."""

from api.app.services import Services
from api.page_links import PageLinks, is_dashboard_built
from api.settings import Settings
from api.upstreams.hosts.host_client import HostNetwork
from api.upstreams.pull_publishes import PullPublishes
from gitstore.store.store import Store
from gitstore.wire.addresses import AddressPolicy


def open_pulls(settings: Settings, store: Store, services: Services) -> PullPublishes:
    """Open the publishes that become pull requests on the hosts of upstreams."""
    rules = settings.upstream_rules
    network = HostNetwork(AddressPolicy(rules.networks), rules.seconds)
    links = PageLinks(settings.public_url, is_dashboard_built())
    return PullPublishes(store, services.state, services.clock, network, links)

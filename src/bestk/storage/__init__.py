"""Event logs: the records, the two-method protocol with its options, and two implementations."""

from bestk.storage.addresses import open_storage as open_storage
from bestk.storage.events import ClosingStorage as ClosingStorage
from bestk.storage.events import ColumnStorage as ColumnStorage
from bestk.storage.events import CountingStorage as CountingStorage
from bestk.storage.events import Event as Event
from bestk.storage.events import ExclusiveStorage as ExclusiveStorage
from bestk.storage.events import ListingStorage as ListingStorage
from bestk.storage.events import Storage as Storage
from bestk.storage.memory import MemoryStorage as MemoryStorage
from bestk.storage.names import is_reserved as is_reserved
from bestk.storage.names import names_of_studies as names_of_studies
from bestk.storage.sqlite import SQLiteStorage as SQLiteStorage

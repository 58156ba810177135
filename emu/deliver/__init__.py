"""The folder that a project hands to a verification team: suites, benches, C reference, descriptors, semantics, and a test of it all."""

from emu.deliver.folder import Delivered, deliver, deliver_zip

__all__ = ["Delivered", "deliver", "deliver_zip"]

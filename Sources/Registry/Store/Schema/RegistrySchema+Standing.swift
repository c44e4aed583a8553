extension RegistrySchema {
    // What version 12 says of devices besides their registrations.

    /// Devices whose token no push service has taken yet: registered ones by their number, those of the sealed ingress
    /// by theirs. What was registered before this table counts as proven.
    static let unprovenDevices = """
        CREATE TABLE unproven_devices (device INTEGER PRIMARY KEY) STRICT;
        CREATE TRIGGER devices_proven_no_more AFTER DELETE ON devices
            BEGIN DELETE FROM unproven_devices WHERE device = old.id; END;
        CREATE TRIGGER ingress_devices_proven_no_more AFTER DELETE ON ingress_devices
            BEGIN DELETE FROM unproven_devices WHERE device = -old.id; END;
        """

    /// Until when a device counts that the newest list of its root identity says nothing of, in milliseconds since
    /// 1970; no time where that list names it.
    static let deviceGrace = "ALTER TABLE listed_devices ADD COLUMN until INTEGER;"

    /// Which device has a target that people choose, by a handle that tells nothing of it, and which ones would have
    /// it. Few do.
    static let chosenTargets = """
        CREATE TABLE chosen_targets (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            target BLOB NOT NULL,
            confirmed INTEGER NOT NULL,
            asked_at INTEGER
        );
        CREATE INDEX chosen_targets_target ON chosen_targets (target);
        """

    /// Whether a push service ever took a push for a device. Of devices from before nobody knows, so they count as
    /// reached. The index finds the device that goes first when there is no room.
    static let reached = """
        ALTER TABLE devices ADD COLUMN is_reached INTEGER NOT NULL DEFAULT 0;
        UPDATE devices SET is_reached = 1;
        CREATE INDEX devices_unreached ON devices (registered_at) WHERE is_reached = 0;
        """
}

extension RegistrySchema {
    /// Devices whose token no push service has taken yet: registered ones by their number, those of the sealed ingress
    /// by theirs. What was registered before this table counts as proven.
    static let unprovenDevices = """
        CREATE TABLE unproven_devices (device INTEGER PRIMARY KEY) STRICT;
        CREATE TRIGGER devices_proven_no_more AFTER DELETE ON devices
            BEGIN DELETE FROM unproven_devices WHERE device = old.id; END;
        CREATE TRIGGER ingress_devices_proven_no_more AFTER DELETE ON ingress_devices
            BEGIN DELETE FROM unproven_devices WHERE device = -old.id; END;
        """
}

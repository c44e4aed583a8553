extension RegistrySchema {
    /// Devices that the sealed ingress met. The address is there while the device counts as alive. Counting a million rows takes
    /// longer than adding one, so triggers count.
    static let ingressDevices = """
        CREATE TABLE ingress_devices (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            handle BLOB NOT NULL UNIQUE,
            address BLOB,
            used_at INTEGER NOT NULL,
            gone_at INTEGER
        );
        CREATE INDEX ingress_devices_used_at ON ingress_devices (used_at);

        CREATE TABLE ingress_device_count (count INTEGER NOT NULL);
        INSERT INTO ingress_device_count VALUES (0);
        CREATE TRIGGER ingress_devices_more AFTER INSERT ON ingress_devices
            BEGIN UPDATE ingress_device_count SET count = count + 1; END;
        CREATE TRIGGER ingress_devices_fewer AFTER DELETE ON ingress_devices
            BEGIN UPDATE ingress_device_count SET count = count - 1; END;
        """

    /// To find those that can be forgotten where strangers made up so many tokens that there is no room.
    static let goneIngressDevices = """
        CREATE INDEX ingress_devices_gone_at ON ingress_devices (gone_at) WHERE gone_at IS NOT NULL;
        """
}

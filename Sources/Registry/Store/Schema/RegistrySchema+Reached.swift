extension RegistrySchema {
    /// Whether a push service ever took a push for a device. Of devices from before nobody knows, so they count as reached. The index
    /// finds the device that goes first when there is no room.
    static let reached = """
        ALTER TABLE devices ADD COLUMN is_reached INTEGER NOT NULL DEFAULT 0;
        UPDATE devices SET is_reached = 1;
        CREATE INDEX devices_unreached ON devices (registered_at) WHERE is_reached = 0;
        """
}

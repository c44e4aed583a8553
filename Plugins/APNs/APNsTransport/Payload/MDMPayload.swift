import PluginKit

/// Has a managed device ask its server what to do: it says the device's push magic, and nothing else.
enum MDMPayload {
    /// Nil when the registration names none.
    static func make(_ registration: borrowing Registration) -> [UInt8]? {
        guard let magic = registration.field(DeviceTokens.pushMagic),
            DeviceTokens.pushMagicLengths.contains(magic.count)
        else { return nil }
        var writer = JSONWriter(reservingBytes: 64)
        writer.beginObject()
        writer.member("mdm", magic)
        writer.endObject()
        return writer.bytes
    }
}

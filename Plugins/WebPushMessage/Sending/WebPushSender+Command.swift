package import PluginKit

extension WebPushSender {
    /// What an operator may ask: `vapid` shows the public keys, of which apps subscribe with the current one. `status`
    /// tells the router, which tells the apps.
    package func command(
        _ words: [String],
        completion: @escaping @Sendable (CommandAnswer) -> Void
    ) -> Admission {
        switch words {
        case ["vapid"]: completion(CommandAnswer(isGood: true, text: describeKeys()))
        case ["status"]: completion(CommandAnswer(isGood: true, text: status))
        case ["help"]:
            completion(
                CommandAnswer(
                    isGood: true,
                    text: "vapid    the public keys that apps subscribe with, the current one first"
                )
            )
        default: return .unsupported
        }
        return .accepted
    }

    private var status: String {
        var status = JSONWriter(reservingBytes: 256)
        status.beginObject()
        if !publicKeys.isEmpty {
            status.key("clients")
            status.beginObject()
            status.key("vapid_public_keys")
            status.beginArray()
            for key in publicKeys { status.string(key) }
            status.endArray()
            status.endObject()
        }
        status.endObject()
        return String(decoding: status.bytes, as: UTF8.self)
    }
}

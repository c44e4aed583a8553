package import PluginKit

extension WebPushSender {
    /// What an operator may ask: `vapid` shows the public keys, of which apps subscribe with the current one.
    package func command(
        _ words: [String],
        completion: @escaping @Sendable (CommandAnswer) -> Void
    ) -> Admission {
        switch words {
        case ["vapid"]: completion(CommandAnswer(isGood: true, text: describeKeys()))
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
}

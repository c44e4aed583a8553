import PluginKit

/// A visible push that says neither who nor what; an extension of the app may find out and say more.
enum NudgePayload {
    static func make(_ notification: borrowing Notification) throws(PayloadMistake) -> [UInt8] {
        try NeutralAlert.make(notification) { $0.signal(of: notification) }
    }
}

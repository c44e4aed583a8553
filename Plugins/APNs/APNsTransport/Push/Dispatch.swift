import PluginKit

/// What goes out for a notification, where, and what goes out in its place when that token turns out to be dead.
struct Dispatch {
    var push: Push
    /// A token of its own; nil: it goes to the device token. Borrowed from the registration.
    var token: BorrowedText?
    /// The ordinary alert to the device token, or why there can be none; only of what goes to a token of its own.
    var alert: Result<Push, PayloadMistake>?

    init(_ push: Push) {
        self.push = push
    }

    /// Takes what `alert` makes for a later moment, when the notification is no longer there.
    init(_ push: Push, to token: BorrowedText, else alert: () throws(PayloadMistake) -> Push) {
        self.push = push
        self.token = token
        do throws(PayloadMistake) {
            self.alert = .success(try alert())
        } catch {
            self.alert = .failure(error)
        }
    }
}

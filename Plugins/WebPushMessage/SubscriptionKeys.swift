package import PluginKit
package import WebPushEncryption

/// What a registration says about encryption.
package enum SubscriptionKeys {
    /// No keys.
    case absent
    case present(WebPushKeys)

    /// Throws when there is one of the two keys only, or when they are malformed.
    package init(_ registration: borrowing Registration) throws(PluginError) {
        switch (registration.field("p256dh"), registration.field("auth")) {
        case (nil, nil): self = .absent
        case (let point?, let secret?):
            do {
                self = .present(try WebPushKeys(p256dh: point.string, auth: secret.string))
            } catch {
                throw PluginError("p256dh, auth: \(error)")
            }
        case (_?, nil): throw PluginError("auth: expected it beside p256dh, found nothing")
        case (nil, _?): throw PluginError("p256dh: expected it beside auth, found nothing")
        }
    }
}

internal import PluginKit
import Units

/// Logs problems with the keys that sign messages, and what Microsoft says of refused ones.
struct KeyReports: Sendable {
    private enum Subject: Hashable {
        case refusedToken(PushService)
        case unprovenKey(PushService)
        case otherKey(PushService)
        case unknownKey
        case refusal(UInt32)
    }

    private let hourly: SeldomLog<Subject>
    private let once: SeldomLog<Subject>

    init(_ host: Host) {
        hourly = SeldomLog(host)
        once = SeldomLog(host, quiet: nil)
    }

    /// A push service refuses the token, whatever the subscription.
    func tokenRefused(by service: PushService, _ reason: String, now: Timestamp) {
        hourly.log(
            .refusedToken(service),
            .warning,
            now: now,
            "\(service.name) refuses our VAPID token (\(reason)): check subject, the key and this machine's clock"
        )
    }

    /// A subscription was made with another key. `isKeyProven`: whether any push service accepted a message signed with
    /// ours.
    func keyMismatch(at service: PushService, isKeyProven: Bool, now: Timestamp) {
        if isKeyProven {
            once.log(
                .otherKey(service),
                .warning,
                now: now,
                "\(service.name) says that a subscription was made with another key than ours; if vapid_key_file was "
                    + "replaced, put the former file under old_vapid_key_files"
            )
        } else {
            once.log(
                .unprovenKey(service),
                .error,
                now: now,
                "\(service.name) says that subscriptions were made with another key than vapid_key_file, and no message "
                    + "signed with ours was taken yet: if the file was replaced, put the former one under "
                    + "old_vapid_key_files; if apps were given another key, have them subscribe with ours"
            )
        }
    }

    /// Logs Microsoft's sentence about a status: an outcome's reason is too short for it.
    func refused(_ status: UInt32, _ explanation: String, now: Timestamp) {
        hourly.log(
            .refusal(status),
            .warning,
            now: now,
            "\(PushService.windows.name) did not deliver a message (\(status)): \(explanation)"
        )
    }

    /// A registration names a key that was configured once.
    func keyUnknown(now: Timestamp) {
        once.log(
            .unknownKey,
            .error,
            now: now,
            "a registration names a VAPID key that is not configured any more, and gets nothing: put the key's file under "
                + "old_vapid_key_files until its app has subscribed anew"
        )
    }
}

import Delivery
import Dispatch
import Logging
import Notifications
import Operations
import Registry
import Synchronization
import Units

/// Pushes codes to targets that somebody wants to have moved. Beside the pipeline, so that whoever registers cannot
/// tell from the time it takes whether the target was anybody's.
final class TargetCodes: Sendable {
    private struct Receiver {
        weak var courier: Courier?
    }

    /// What the router is called.
    private let name: String
    private let receiver = Mutex(Receiver())
    private let queue = DispatchQueue(label: "carillon.target-codes")
    private let now: @Sendable () -> Timestamp
    private let logger: Logger

    init(name: String, now: @escaping @Sendable () -> Timestamp, logger: Logger) {
        self.name = name
        self.now = now
        self.logger = logger
    }

    /// Codes go out by `courier`, which is made after the registry that asks for them.
    func send(by courier: Courier) {
        receiver.withLock { $0.courier = courier }
    }

    @Sendable func push(_ request: TargetCodeRequest) {
        queue.async { [self] in
            do {
                try receiver.withLock { $0.courier }?.accept([delivery(of: request)])
            } catch {
                logger.error("A code for a target could not be kept", metadata: ["error": "\(error)"])
            }
        }
    }

    /// It names nobody: the push service reads along.
    private func delivery(of request: TargetCodeRequest) -> Delivery {
        var notification = Notifications.Notification.nudge(
            Signal(rawValue: "code"),
            urgency: .normal,
            NeutralTexts(
                title: name,
                body:
                    "Somebody wants to be notified here from another account. If that is you, register there once more with the code "
                    + "\(request.code.text). If not, do nothing: all stays as it is."
            )
        )
        notification.expiresAt = request.expiresAt
        return Delivery(
            id: DeliveryIDs.fresh(),
            device: request.device,
            platform: request.route.platform,
            app: request.route.app,
            notification: notification,
            acceptedAt: now()
        )
    }
}

import Delivery
import Dispatch
import Logging
import Notifications
import Operations
import Registry

/// Pushes codes to targets that somebody wants to have moved. Beside the pipeline, so that whoever registers cannot
/// tell from the time it takes whether the target was anybody's.
struct TargetCodes: Sendable {
    private static let queue = DispatchQueue(label: "carillon.target-codes")

    /// What the router is called.
    let name: String
    /// Puts a delivery on disk.
    let keep: Late<@Sendable (Delivery) throws -> Void>
    let now: @Sendable () -> Int64
    let logger: Logger

    @Sendable func push(_ request: TargetCodeRequest) {
        Self.queue.async {
            do {
                try keep.value?(delivery(of: request))
            } catch {
                logger.error("A code for a target could not be kept", metadata: ["error": "\(error)"])
            }
        }
    }

    /// It names nobody: the push service reads along.
    func delivery(of request: TargetCodeRequest) -> Delivery {
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

import Nostr
import Notifications

/// What waited for a device and goes as one push now.
package struct Release: Equatable, Sendable {
    package let device: DeviceID
    let pace: Pace
    /// The oldest first, at least one, and one alone where only the latest of its members counts.
    let groups: [HeldGroup]
}

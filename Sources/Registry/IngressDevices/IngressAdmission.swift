import Notifications

/// Whether a push for a device of the sealed ingress can be sent.
package enum IngressAdmission: Sendable, Hashable {
    case admitted(DeviceID)
    /// Its push service called it gone, not long ago.
    case gone
    /// Its transport takes no such token.
    case invalid
    /// There are too many devices, all of them used lately and none of them gone.
    case full
}

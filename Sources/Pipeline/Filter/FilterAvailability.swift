/// What devices may decide about a filter.
package enum FilterAvailability: String, Sendable, CaseIterable {
    /// Nothing: it is asked for all of them.
    case always
    /// It is asked unless a device switches it off.
    case maySwitchOff = "may-switch-off"
    /// It is asked for devices that switch it on.
    case maySwitchOn = "may-switch-on"

    /// Whether it is asked for a device that says so, or nothing.
    package func isActive(_ wish: Bool?) -> Bool {
        switch self {
        case .always: true
        case .maySwitchOff: wish ?? true
        case .maySwitchOn: wish ?? false
        }
    }
}

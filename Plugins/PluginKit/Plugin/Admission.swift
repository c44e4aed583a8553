public import CarillonABI

/// Whether a transport took a delivery on.
public enum Admission: Sendable {
    /// The ticket will be completed.
    case accepted
    /// Not now: try again later.
    case busy
    /// The registration or the notification is malformed; trying again does not help.
    case invalid
    /// The transport cannot do this, such as a mode it does not know; trying again does not help.
    case unsupported
    /// Something went wrong here; trying again may help.
    case failed

    /// The ABI's word for it.
    public var status: carillon_status {
        switch self {
        case .accepted: .CARILLON_OK
        case .busy: .CARILLON_BUSY
        case .invalid: .CARILLON_INVALID
        case .unsupported: .CARILLON_UNSUPPORTED
        case .failed: .CARILLON_FAILED
        }
    }

    /// What a refusal by the host's HTTP service means for the delivery that wanted it.
    init(_ status: carillon_status) {
        switch status {
        case .CARILLON_OK: self = .accepted
        case .CARILLON_BUSY: self = .busy
        case .CARILLON_INVALID: self = .invalid
        case .CARILLON_UNSUPPORTED: self = .unsupported
        default: self = .failed
        }
    }
}

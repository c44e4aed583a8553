import Notifications

/// A group that was held for a device and will not be told.
struct DroppedGroup {
    let device: DeviceID
    let group: HeldGroup
    /// Why not.
    let step: PipelineStep

    /// What else is to be said of that.
    var reason: String { step == .unwanted ? group.signal.rawValue : "while it was held" }
}

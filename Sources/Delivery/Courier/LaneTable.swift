import Notifications

/// Lanes by device. A lane keeps its index for as long as it belongs to a device, and its memory for the next one.
struct LaneTable: Sendable {
    private var lanes: [Lane] = []
    private var indices: [DeviceID: Int] = [:]
    private var free: [Int] = []

    subscript(index: Int) -> Lane {
        _read { yield lanes[index] }
        _modify { yield &lanes[index] }
    }

    /// Lanes that belong to a device.
    var count: Int { indices.count }

    /// The lane of `device`; a new one is in state ``Lane/State/free``.
    mutating func lane(of device: DeviceID) -> Int {
        if let index = indices[device] { return index }
        let index: Int
        if let reused = free.popLast() {
            index = reused
            lanes[index].device = device
        } else {
            index = lanes.count
            lanes.append(Lane(device: device, state: .free))
        }
        indices[device] = index
        return index
    }

    mutating func release(_ index: Int) {
        indices[lanes[index].device] = nil
        lanes[index].waiting.removeAll(keepingCapacity: lanes[index].waiting.count < 16)
        lanes[index].state = .free
        lanes[index].host = nil
        lanes[index].caller = nil
        free.append(index)
    }

    /// Whether the attempt of `ticket` is the one under way: false for a second completion of the same attempt.
    func isUnderWay(_ ticket: Ticket) -> Bool {
        guard lanes.indices.contains(ticket.lane), lanes[ticket.lane].state == .inFlight else { return false }
        return lanes[ticket.lane].waiting.first === ticket.stored
    }
}

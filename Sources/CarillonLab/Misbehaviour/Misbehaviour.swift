/// Something a push service does instead of giving a request the answer it has earned.
///
/// Only requests that pass every check take part: a request that is wrong in itself is refused for what is wrong with it.
public struct Misbehaviour: Sendable, Hashable {
    /// The service that misbehaves; nil for all.
    public var service: LabService?
    /// The device token or topic it happens to; nil for all.
    public var target: String?
    /// How many requests that match pass untouched first.
    public var after: Int
    /// How many requests it happens to; nil for every one until it is withdrawn.
    public var times: Int?
    public var conduct: Conduct

    public init(
        _ conduct: Conduct,
        service: LabService? = nil,
        target: String? = nil,
        after: Int = 0,
        times: Int? = 1
    ) {
        self.conduct = conduct
        self.service = service
        self.target = target
        self.after = after
        self.times = times
    }

    func concerns(_ service: LabService, _ target: String) -> Bool {
        if let wanted = self.service, wanted != service { return false }
        if let wanted = self.target, wanted.lowercased() != target.lowercased() { return false }
        return true
    }
}

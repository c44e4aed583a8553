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
    /// What part of the requests it happens to, by the lot: from 0 to 1; nil for all. Those spared go on to the next
    /// misbehaviour of the script.
    public var share: Double?
    /// With `share`: the lots are the same for the same seed and order of requests.
    public var seed: UInt64
    /// With `share`: to how many requests in a row it happens once the lot falls.
    public var burst: Int
    /// What comes instead of the earned answer, or is done to it.
    public var conduct: Conduct

    /// Happens to the next request that matches unless told otherwise. Below 0, `after` is 0; below 1, `times` is 1.
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
        seed = 0
        burst = 1
    }

    /// Happens by the lot until it is withdrawn.
    public init(
        _ conduct: Conduct,
        service: LabService? = nil,
        target: String? = nil,
        share: Double,
        seed: UInt64,
        burst: Int = 1
    ) {
        self.init(conduct, service: service, target: target, times: nil)
        self.share = share
        self.seed = seed
        self.burst = burst
    }

    func concerns(_ service: LabService, _ target: String) -> Bool {
        if let wanted = self.service, wanted != service { return false }
        if let wanted = self.target, wanted.lowercased() != target.lowercased() { return false }
        return true
    }
}

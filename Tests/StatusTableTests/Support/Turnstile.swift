/// Limits the number of benches that run at the same time, so that each ends long before requests time out. Timeouts
/// use the machine's clock, however many tests run in parallel.
actor Turnstile {
    static let benches = Turnstile(places: 6)

    private var places: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) {
        self.places = places
    }

    func enter() async {
        if places > 0 {
            places -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func leave() {
        if waiting.isEmpty {
            places += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}

/// Always draws the largest number: every backoff is as long as it can be.
struct LargestGenerator: RandomNumberGenerator, Sendable {
    mutating func next() -> UInt64 { .max }
}

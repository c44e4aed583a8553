import HTTPLanes

/// What is known of a relay's limits (NIP-11), and whether to ask for them. `now` is in milliseconds on a clock that does not jump.
struct KnownLimitation {
    private enum State {
        case unknown
        case asked
        case known(RelayLimitation, at: Int64)
    }

    private let age: Int64
    private var state = State.unknown

    /// - Parameter age: For how long it is believed, in milliseconds.
    init(age: Int64) {
        self.age = age
    }

    /// Nil while it is being asked for.
    var limitation: RelayLimitation? {
        guard case .known(let limitation, _) = state else { return nil }
        return limitation
    }

    /// Whether to ask now.
    mutating func begin(now: Int64) -> Bool {
        switch state {
        case .asked: return false
        case .known(_, let at) where now - at < age: return false
        case .known, .unknown:
            state = .asked
            return true
        }
    }

    /// Takes the answer. A relay that has no document has the usual limits, until the next connection asks again.
    mutating func end(_ result: Result<HTTPResponse, HTTPFailure>, now: Int64) -> RelayLimitation {
        guard case .success(let response) = result, response.status == 200 else {
            state = .known(RelayLimitation(), at: now - age)
            return RelayLimitation()
        }
        let limitation = RelayLimitation(document: response.body)
        state = .known(limitation, at: now)
        return limitation
    }
}

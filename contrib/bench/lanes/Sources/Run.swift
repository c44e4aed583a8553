import Synchronization

/// Keeps 500 pushes of a load in flight until all are done.
final class Run: Sendable {
    private struct State {
        var started = 0
        var ended = 0
        var failed = 0
        var waiter: CheckedContinuation<Int, Never>?
    }

    private static let inFlight = 500

    private let load: any Load
    private let requests: Int
    private let state = Mutex(State())

    init(load: any Load, requests: Int) {
        self.load = load
        self.requests = requests
    }

    /// Runs, once; returns how many failed.
    func failures() async -> Int {
        await withCheckedContinuation { waiter in
            state.withLock { $0.waiter = waiter }
            for _ in 0..<Self.inFlight { next() }
        }
    }

    private func next() {
        let number = state.withLock { state -> Int? in
            guard state.started < requests else { return nil }
            state.started += 1
            return state.started
        }
        guard let number else { return }
        load.push(number) { [self] isGood in
            let over = state.withLock { state -> (CheckedContinuation<Int, Never>?, Int) in
                state.ended += 1
                if !isGood { state.failed += 1 }
                guard state.ended == requests else { return (nil, 0) }
                defer { state.waiter = nil }
                return (state.waiter, state.failed)
            }
            over.0?.resume(returning: over.1)
            next()
        }
    }
}

import CarillonABI

/// The requests from outside that a process has not answered. Pure: its owner sends the frames.
struct InboundTable: Sendable {
    /// Who waits for the answer of one request.
    ///
    /// Unchecked: the host's pointer is not looked into here.
    struct Waiter: @unchecked Sendable {
        let instance: UInt32
        let done: carillon_inbound_done
        let context: UnsafeMutableRawPointer?

        /// Answers in place of the plugin.
        func answer(status: UInt32) {
            var answer = carillon_inbound_answer()
            answer.struct_size = UInt32(MemoryLayout<carillon_inbound_answer>.size)
            answer.status = status
            done(context, &answer)
        }
    }

    /// What an answer came to.
    enum End: Sendable {
        case ended(Waiter)
        /// Nobody waits any more.
        case late
        /// Its number was never given out.
        case unknown
    }

    /// A plugin that never answers shall not fill the memory: the host has long stopped waiting for the oldest.
    private static let limit = 1024

    private var waiters: [UInt64: Waiter] = [:]
    private var last: UInt64 = 0
    private var oldest: UInt64 = 1

    var isEmpty: Bool { waiters.isEmpty }

    /// The number of a new request.
    mutating func open(_ waiter: Waiter) -> UInt64 {
        last += 1
        waiters[last] = waiter
        while waiters.count > Self.limit {
            waiters[oldest] = nil
            oldest += 1
        }
        return last
    }

    mutating func end(_ number: UInt64) -> End {
        guard let waiter = waiters.removeValue(forKey: number) else {
            return number > 0 && number <= last ? .late : .unknown
        }
        return .ended(waiter)
    }

    /// The process has gone: those who still wait for it.
    mutating func removeAll() -> [Waiter] {
        defer { waiters = [:] }
        return waiters.sorted { $0.key < $1.key }.map(\.value)
    }
}

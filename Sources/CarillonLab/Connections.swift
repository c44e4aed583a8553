import NIOConcurrencyHelpers
import NIOCore

/// The open connections of a lab, numbered from 1.
final class Connections: Sendable {
    private struct State {
        var last = 0
        var open: [Int: any Channel] = [:]
    }

    private let state = NIOLockedValueBox(State())

    func add(_ channel: any Channel) -> Int {
        let number = state.withLockedValue { state in
            state.last += 1
            state.open[state.last] = channel
            return state.last
        }
        channel.closeFuture.whenComplete { _ in
            self.state.withLockedValue { $0.open[number] = nil }
        }
        return number
    }

    /// Closes every connection and waits until they are.
    func closeAll() async {
        let channels = state.withLockedValue { Array($0.open.values) }
        for channel in channels {
            channel.close(promise: nil)
        }
        for channel in channels {
            try? await channel.closeFuture.get()
        }
    }
}

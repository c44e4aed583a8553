import CarillonABI
import PluginProtocol
import Synchronization

/// Commands and inbound requests that plugins have not answered. A plugin's pointer for each is really a number, so
/// that a second answer does not access freed memory.
final class OpenCalls: Sendable {
    struct Call: Sendable {
        /// The frame's ID.
        let id: UInt64
        let instance: PluginInstance
    }

    private struct State: Sendable {
        var last: UInt = 0
        var oldest: UInt = 1
        var open: [UInt: Call] = [:]
    }

    /// A plugin that never answers must not fill the memory: the router stopped waiting for the oldest long ago.
    private static let limit = 1024

    static let commands = OpenCalls()
    static let inbound = OpenCalls()

    private let state = Mutex(State())

    func open(_ id: UInt64, of instance: PluginInstance) -> UnsafeMutableRawPointer? {
        let number = state.withLock { state in
            state.last += 1
            state.open[state.last] = Call(id: id, instance: instance)
            while state.open.count > Self.limit {
                state.open[state.oldest] = nil
                state.oldest += 1
            }
            return state.last
        }
        return UnsafeMutableRawPointer(bitPattern: number)
    }

    /// Returns nil if it has ended, or never existed.
    func close(_ context: UnsafeMutableRawPointer?) -> Call? {
        let number = UInt(bitPattern: context)
        return state.withLock { $0.open.removeValue(forKey: number) }
    }
}

/// `done` of an inbound request.
func inboundDone(_ context: UnsafeMutableRawPointer?, _ answer: UnsafePointer<carillon_inbound_answer>?) {
    guard let request = OpenCalls.inbound.close(context) else { return }
    let instance = request.instance
    let answer = answer.flatMap(readable) ?? carillon_inbound_answer()
    instance.process.deliveries.send(.received, id: request.id) {
        ReceivedMessage.write(instance: instance.number, answer, to: &$0)
    }
}

/// A copy of the struct; nil if it cannot be forwarded. The router checks its content.
private func readable(_ pointer: UnsafePointer<carillon_inbound_answer>) -> carillon_inbound_answer? {
    let headerBytes = 32 << 10
    guard let answer = carillon_inbound_answer(adopting: pointer),
        (0...ReceivedMessage.headerLimit).contains(answer.header_count),
        answer.header_count == 0 || answer.headers != nil,
        RequestForm.bytes(answer.body, limit: 256 << 10) != nil
    else { return nil }
    var length = 0
    for field in UnsafeBufferPointer(start: answer.headers, count: answer.header_count) {
        guard let name = RequestForm.bytes(field.name, limit: headerBytes - length),
            let value = RequestForm.bytes(field.value, limit: headerBytes - length - name.count)
        else { return nil }
        length += name.count + value.count
    }
    return answer
}

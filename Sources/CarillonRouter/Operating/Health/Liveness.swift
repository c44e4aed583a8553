import Delivery
import NIOCore
import Pipeline

/// Whether the parts that everything depends on come round: the pipeline's thread, the courier, every event loop.
struct Liveness: Sendable {
    let pipeline: PipelineThread
    let courier: Courier
    let group: any EventLoopGroup

    /// Those that do not within `milliseconds`, by name. Only while the router serves: before and after that they rest.
    func stuck(within milliseconds: Int64) async -> [String] {
        var asked: [(name: String, ask: (@escaping @Sendable () -> Void) -> Void)] = [
            ("courier", { [courier] in courier.probe($0) }),
            (
                "pipeline",
                { [pipeline] answer in
                    Task { if await pipeline.comesRound(within: milliseconds) { answer() } }
                }
            ),
        ]
        for (number, loop) in group.makeIterator().enumerated() {
            asked.append(("event-loop-\(number)", { loop.execute($0) }))
        }
        return await RollCall.missing(asked, within: milliseconds)
    }
}

/// A parser of untrusted input.
struct FuzzTarget: Sendable {
    typealias Run = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt

    let name: String
    /// Checks one input, and ends the program if a promise is broken.
    let run: Run

    static let all = [
        FuzzTarget(name: "event") { judge($0, $1, EventJudge.judge) },
        FuzzTarget(name: "client-message") { judge($0, $1, ClientMessageJudge.judge) },
        FuzzTarget(name: "relay-message") { judge($0, $1, RelayMessageJudge.judge) },
        FuzzTarget(name: "nip44") { judge($0, $1, NIP44Judge.judge) },
        FuzzTarget(name: "nip46") { judge($0, $1, RemoteSigningJudge.judge) },
        FuzzTarget(name: "registration") { judge($0, $1, RegistrationJudge.judge) },
        FuzzTarget(name: "rules") { judge($0, $1, RulesJudge.judge) },
        FuzzTarget(name: "url") { judge($0, $1, URLJudge.judge) },
        FuzzTarget(name: "json-header") { judge($0, $1, JSONHeaderJudge.judge) },
        FuzzTarget(name: "web-push") { judge($0, $1, WebPushJudge.judge) },
        FuzzTarget(name: "http2") { judge($0, $1, HTTP2Judge.judge) },
        FuzzTarget(name: "frame-cutter") { judge($0, $1, FrameCutterJudge.judge) },
        FuzzTarget(name: "nats") { judge($0, $1, NATSJudge.judge) },
        FuzzTarget(name: "smtp") { judge($0, $1, SMTPJudge.judge) },
        FuzzTarget(name: "mqtt") { judge($0, $1, MQTTJudge.judge) },
        FuzzTarget(name: "plugin-frames") { judge($0, $1, PluginFrameJudge.judge) },
    ]
}

/// 0: the input is worth keeping; -1: it is not.
private func judge(_ data: UnsafePointer<UInt8>?, _ count: Int, _ body: (UnsafeRawBufferPointer) -> Bool) -> CInt {
    body(UnsafeRawBufferPointer(start: data, count: count)) ? 0 : -1
}

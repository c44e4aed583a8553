import ArgumentParser
import CarillonLab
import Foundation

/// `carillon-lab misbehave`: orders misbehaviours of a running lab.
struct MisbehaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "misbehave",
        abstract: "Have a running lab misbehave, or tell what it still has before it.",
        discussion: """
            \(MisbehaviourHelp.text)

            EXAMPLES
              The next request to APNs gets its answer and then GOAWAY:
                carillon-lab misbehave --lab /tmp/lab goaway,service=apns

              The next three to FCM get 429 with Retry-After, the one after that UNREGISTERED:
                carillon-lab misbehave --lab /tmp/lab answer,status=429,retry_after=2,times=3,service=fcm \\
                  answer,status=404,reason=UNREGISTERED,service=fcm

              APNs knows that a device is gone since a given time:
                carillon-lab misbehave --lab /tmp/lab answer,status=410,reason=Unregistered,timestamp=1754000000000,target=<hex>

              Windows' push service drops a message and says so in a header:
                carillon-lab misbehave --lab /tmp/lab answer,status=200,header.X-WNS-NotificationStatus=dropped,service=webpush

              One request in ten is reset, always the same ones for the same seed; one in fifty starts a burst of twenty 503:
                carillon-lab misbehave --lab /tmp/lab reset,code=2,share=0.1,seed=7 answer,status=503,share=0.02,burst=20,seed=7

              Back to good manners:
                carillon-lab misbehave --lab /tmp/lab --none
            """
    )

    @OptionGroup var lab: RunningLab

    @Flag(help: "First withdraw every misbehaviour ordered before.")
    var none = false

    @Argument(help: ArgumentHelp("What to do instead of a good answer; without any, what is still to come is printed."))
    var misbehaviours: [String] = []

    func run() async throws {
        // Reports errors before ordering anything.
        let orders = try misbehaviours.map { try Misbehaviour(parsing: $0) }
        if none {
            try await lab.order("DELETE", "/misbehave")
        }
        if !orders.isEmpty {
            let json = String(decoding: try JSONEncoder().encode(orders), as: UTF8.self)
            try await lab.order("POST", "/misbehave", body: json)
        } else if !none {
            print(try await lab.order("GET", "/misbehave"), terminator: "")
        }
    }
}

/// The help of `serve` and `misbehave` on misbehaviours.
enum MisbehaviourHelp {
    static let text = """
        MISBEHAVIOUR is a kind and key=value pairs with commas between, or the same as a JSON object. It happens to requests \
        that pass every check, in the order given. Kinds:
          answer   status, and as far as they are wanted reason, retry_after (seconds), message, field (FCM's INVALID_ARGUMENT), timestamp (APNs' 410, \
        milliseconds), header.NAME, body. The answer has the service's own form; reason is APNs' or Apple's reason, FCM's \
        errorCode or Google's status, Huawei's code, ntfy's code, Mozilla's errno, Gotify's or WNS' description.
          html     status: a proxy's page
          goaway   gracefully (true), reason, code: HTTP/2 GOAWAY; ungracefully, this request was not processed
          reset    code (7, REFUSED_STREAM): HTTP/2 RST_STREAM, a closed connection in HTTP/1.1
          close    the connection, without a word
          cut      the connection, in the middle of the answer
          delay    milliseconds
          silence  no answer, the connection stays
          streams  streams: SETTINGS_MAX_CONCURRENT_STREAMS from now on
        For all: service (\(services)), target (token, topic or subscription), after (requests that pass first), times (1; \
        0 for ever), share (part of the requests by the lot, from 0 to 1; then times is 0), seed, burst (with share: how many \
        in a row).
        """

    private static let services = LabService.allCases.map(\.rawValue).joined(separator: ", ")
}

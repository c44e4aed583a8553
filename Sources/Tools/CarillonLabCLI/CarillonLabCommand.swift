import ArgumentParser
import CarillonLab
import Foundation
import FoundationNetworking

/// The `carillon-lab` command.
@main
struct CarillonLabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon-lab",
        abstract:
            "Push services on loopback: APNs, FCM, Web Push, UnifiedPush, ntfy and Gotify without an account.",
        discussion: """
            Plays Apple's and Google's push services, browsers' push services, a UnifiedPush server, ntfy and Gotify on this \
            machine, as strict as the real ones, and prints every request they get.

            EXAMPLES
              Start, and see in /tmp/lab/lab.json where everything is:
                carillon-lab serve --folder /tmp/lab --apns-port 8443 --unifiedpush-port 8080 --control-port 8081

              The first three good requests to APNs get 429 with Retry-After, the next one GOAWAY:
                carillon-lab serve --folder /tmp/lab \\
                  --misbehave answer,status=429,retry_after=2,times=3,service=apns --misbehave goaway

              Look and meddle while it runs:
                carillon-lab received --lab /tmp/lab --wait 2 --timeout 5
                carillon-lab misbehave --lab /tmp/lab goaway,service=apns
                carillon-lab devices --lab /tmp/lab --state unregistered --since 1754000000000 <hex>
                carillon-lab reset --lab /tmp/lab

              The same and more by curl, at the control_url of lab.json:
                curl 'http://127.0.0.1:8081/received?wait=2&timeout_ms=5000'
                curl http://127.0.0.1:8081/misbehave -d '{"kind":"answer","status":503,"share":0.1,"seed":7}'
                curl http://127.0.0.1:8081/tokens -d '{"token":"<hex>","state":"unregistered","since":1754000000000}'
                curl http://127.0.0.1:8081/tokens -d '{"service":"fcm","token":"<token>","state":"unregistered"}'

              Subscribe like a browser, and have the browser forget it:
                curl http://127.0.0.1:8081/subscriptions -d '{"id":"alice"}'
                curl http://127.0.0.1:8081/subscriptions -d '{"id":"bob","flavour":"mozilla"}'
                curl -X DELETE 'http://127.0.0.1:8081/subscriptions?id=alice'

              A real browser gets the pushes, with what lab.json says under "browsers":
                carillon-lab serve --folder /tmp/lab --browsers --firefox-port 8082
                echo 'user_pref("dom.push.serverURL", "ws://localhost:8082/");' >> PROFILE/user.js
                echo 'user_pref("dom.push.testing.allowInsecureServerURL", true);' >> PROFILE/user.js
            """,
        subcommands: [
            ServeCommand.self, MisbehaveCommand.self, ReceivedCommand.self, DevicesCommand.self, ResetCommand.self,
        ]
    )
}

/// `carillon-lab reset`: removes the requests, misbehaviours and declarations of a running lab.
struct ResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Reset a running lab to its state at the start.",
        discussion: """
            EXAMPLE
              carillon-lab reset --lab /tmp/lab
            """
    )

    @OptionGroup var lab: RunningLab

    func run() async throws {
        try await lab.order("POST", "/reset")
    }
}

/// A running lab, found by the `lab.json` in its directory.
struct RunningLab: ParsableArguments {
    @Option(
        name: .customLong("lab"),
        help: ArgumentHelp("The folder of a running lab, or its lab.json.", valueName: "folder")
    )
    var place: String

    /// Sends a request to the control endpoint and returns status and body. Throws a ``LabCommandError``.
    func send(
        _ method: String,
        _ path: String,
        _ query: [String: String] = [:],
        body: String? = nil
    ) async throws -> (Int, String) {
        guard var components = URLComponents(string: try control() + path) else {
            throw LabCommandError("control_url in \(file) is not a valid URL.")
        }
        components.queryItems = query.isEmpty ? nil : query.sorted { $0.key < $1.key }.map(URLQueryItem.init)
        guard let url = components.url else { throw LabCommandError("control_url in \(file) is not a valid URL.") }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        // The lab has its own timeout.
        request.timeoutInterval = 3_600
        do {
            let (data, response) = try await URLSession.shared.data(for: request)
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            return (status, String(decoding: data, as: UTF8.self))
        } catch let error as URLError {
            throw LabCommandError("The lab of \(file) does not respond: \(error.localizedDescription)")
        }
    }

    /// Sends a request that the lab must accept, and returns the body.
    @discardableResult
    func order(
        _ method: String,
        _ path: String,
        _ query: [String: String] = [:],
        body: String? = nil
    ) async throws -> String {
        let (status, text) = try await send(method, path, query, body: body)
        guard (200..<300).contains(status) else {
            let complaint = JSONValue(parsing: Array(text.utf8))?["error"]?.string
            throw LabCommandError(complaint ?? "The lab responded with \(status): \(text)")
        }
        return text
    }

    private var file: String {
        place.hasSuffix(".json") ? place : place + "/lab.json"
    }

    private func control() throws -> String {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw LabCommandError("\(file) does not exist. Start a lab with `carillon-lab serve --folder \(place)`.")
        }
        guard let addresses = try? JSONDecoder().decode(LabAddresses.self, from: data) else {
            throw LabCommandError("\(file) is not a lab.json.")
        }
        guard let control = addresses.control else {
            throw LabCommandError("The lab of \(file) has no control endpoint.")
        }
        return control
    }
}

/// An error as a readable sentence.
struct LabCommandError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// `carillon-lab misbehave`: orders misbehaviours of a running lab.
struct MisbehaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "misbehave",
        abstract: "Make a running lab misbehave, or list its pending misbehaviours.",
        discussion: """
            \(ScriptedBehaviorHelp.text)

            EXAMPLES
              The next request to APNs gets its answer and then GOAWAY:
                carillon-lab misbehave --lab /tmp/lab goaway,service=apns

              The next three to FCM get 429 with Retry-After, the one after that UNREGISTERED:
                carillon-lab misbehave --lab /tmp/lab answer,status=429,retry_after=2,times=3,service=fcm \\
                  answer,status=404,reason=UNREGISTERED,service=fcm

              APNs knows that a device is gone since a given time:
                carillon-lab misbehave --lab /tmp/lab answer,status=410,reason=Unregistered,timestamp=1754000000000,target=<hex>

              Windows' push service drops a message and reports it in a header:
                carillon-lab misbehave --lab /tmp/lab answer,status=200,header.X-WNS-NotificationStatus=dropped,service=webpush

              One request in ten is reset, always the same ones for the same seed; one in fifty starts a burst of twenty 503:
                carillon-lab misbehave --lab /tmp/lab reset,code=2,share=0.1,seed=7 answer,status=503,share=0.02,burst=20,seed=7

              Remove all misbehaviours:
                carillon-lab misbehave --lab /tmp/lab --none
            """
    )

    @OptionGroup var lab: RunningLab

    @Flag(help: "Remove all pending misbehaviours first.")
    var none = false

    @Argument(help: ArgumentHelp("What to do instead of a valid response. Default: print the pending ones."))
    var misbehaviours: [String] = []

    func run() async throws {
        // Reports errors before ordering anything.
        let orders = try misbehaviours.map { try ScriptedBehavior(parsing: $0) }
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

/// The help text of `serve` and `misbehave` about misbehaviours.
enum ScriptedBehaviorHelp {
    static let text = """
        MISBEHAVIOUR is a kind and key=value pairs with commas between, or the same as a JSON object. It happens to requests \
        that pass every check, in the order given. Kinds:
          answer   status and optional reason, retry_after (seconds), message, field (FCM's INVALID_ARGUMENT), timestamp (APNs' 410, \
        milliseconds), header.NAME, body. The response has the service's own format; reason is APNs' or Apple's reason, FCM's \
        errorCode or Google's status, ntfy's code, Mozilla's errno, Gotify's or WNS' description.
          html     status: a proxy's page
          goaway   gracefully (true), reason, code: HTTP/2 GOAWAY; ungracefully, this request was not processed
          reset    code (7, REFUSED_STREAM): HTTP/2 RST_STREAM, a closed connection in HTTP/1.1
          close    the connection, without a response
          cut      the connection, in the middle of the response
          delay    milliseconds
          silence  no response; the connection stays open
          streams  streams: SETTINGS_MAX_CONCURRENT_STREAMS from now on
        For all: service (\(services)), target (token, topic or subscription), after (requests that pass first), times (1; \
        0: unlimited), share (random part of the requests, from 0 to 1; then times is 0), seed, burst (with share: how many \
        in a row).
        """

    private static let services = LabService.allCases.map(\.rawValue).joined(separator: ", ")
}

/// `carillon-lab devices`: declares device tokens at a running lab.
struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Set the state of device tokens and topics in a running lab.",
        discussion: """
            States of APNs' devices (services apns and apns_sandbox): registered, unregistered and expired (410, --since), bad \
            (BadDeviceToken). Of FCM's: registered, unregistered, other_sender, invalid. Of topics of unifiedpush and ntfy: \
            registered, gone (404), no_subscriber (507), forbidden (403). Of Gotify's application tokens: registered, \
            unregistered (401).

            EXAMPLES
              An app is gone from a device since yesterday:
                carillon-lab devices --lab /tmp/lab --state unregistered --since $(date -d yesterday +%s000) <hex>

              A token of another Firebase project:
                carillon-lab devices --lab /tmp/lab --service fcm --state other_sender <token>

              A device of the sandbox, whose token production does not know:
                carillon-lab devices --lab /tmp/lab --service apns_sandbox <hex>

              A UnifiedPush endpoint that no longer exists:
                carillon-lab devices --lab /tmp/lab --service unifiedpush --state gone <topic>

              A device that belongs to one app only:
                carillon-lab devices --lab /tmp/lab --topics com.example.app,com.example.app.voip <hex>
            """,
        aliases: ["tokens"]
    )

    @OptionGroup var lab: RunningLab

    @Option(help: "The service of the devices.")
    var service = LabService.apns

    @Option(help: "The new state.")
    var state = "registered"

    @Option(help: ArgumentHelp("APNs' 410: since when, in milliseconds since 1970.", valueName: "milliseconds"))
    var since: Int64?

    @Option(help: ArgumentHelp("APNs: the topics they belong to, separated by commas.", valueName: "topics"))
    var topics: String?

    @Argument(help: "The tokens.")
    var tokens: [String]

    func run() async throws {
        let devices = tokens.map { token in
            var members: [String: JSONValue] = [
                "service": .string(service.rawValue), "token": .string(token), "state": .string(state),
            ]
            members["since"] = since.map(JSONValue.integer)
            members["topics"] = topics.map { topics in
                .array(topics.split(separator: ",").map { .string(String($0)) })
            }
            return JSONValue.object(members)
        }
        try await lab.order("POST", "/tokens", body: JSONValue.array(devices).prettyPrinted)
    }
}

/// `carillon-lab received`: prints the requests to a running lab.
struct ReceivedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "received",
        abstract: "Print what a running lab received.",
        discussion: """
            EXAMPLES
              Wait up to five seconds for two pushes to APNs:
                carillon-lab received --lab /tmp/lab --service apns --wait 2 --timeout 5

              How many pushes each device would show:
                carillon-lab received --lab /tmp/lab --json | jq -r 'select(.taken) | .target' | sort | uniq -c

              Forget them all:
                carillon-lab received --lab /tmp/lab --forget
            """
    )

    @OptionGroup var lab: RunningLab

    @Option(help: "Only requests to this service.")
    var service: LabService?

    @Option(help: ArgumentHelp("Only requests after this sequence number.", valueName: "sequence"))
    var after: Int?

    @Option(help: ArgumentHelp("How many to wait for; the exit status is 1 if fewer arrive.", valueName: "count"))
    var wait = 0

    @Option(help: ArgumentHelp("The maximum time to wait.", valueName: "seconds"))
    var timeout = 10

    @Flag(help: "Print a line of JSON for each.")
    var json = false

    @Flag(help: "Delete them after printing.")
    var forget = false

    func validate() throws {
        guard (0...600).contains(timeout), wait >= 0 else {
            throw ValidationError("--timeout must be 0 to 600 seconds, and --wait must not be negative.")
        }
    }

    func run() async throws {
        var query = ["wait": String(wait), "timeout_ms": String(timeout * 1_000)]
        query["service"] = service?.rawValue
        query["after"] = after.map(String.init)
        query["text"] = json ? nil : "1"
        let (status, text) = try await lab.send("GET", "/received", query)
        guard status == 200 || status == 408 else { throw LabCommandError("The lab responded with \(status): \(text)") }
        print(text, terminator: "")
        if forget {
            try await lab.order("DELETE", "/received")
        }
        guard status == 200 else { throw ExitCode.failure }
    }
}

extension LabService: ExpressibleByArgument {}

import ArgumentParser
import CarillonLab

/// `carillon-lab devices`: declares device tokens at a running lab.
struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Tell a running lab what becomes of device tokens and topics.",
        discussion: """
            States of APNs' devices (services apns and apns_sandbox): registered, unregistered and expired (410, --since), bad \
            (BadDeviceToken). Of FCM's: registered, unregistered, other_sender, invalid. Of Huawei's (hms): registered, invalid, forbidden. Of topics of unifiedpush and ntfy: \
            registered, gone (404), no_subscriber (507), forbidden (403). Of Gotify's application tokens: registered, \
            unregistered (401).

            EXAMPLES
              An app is gone from a device since yesterday:
                carillon-lab devices --lab /tmp/lab --state unregistered --since $(date -d yesterday +%s000) <hex>

              A token of another Firebase project:
                carillon-lab devices --lab /tmp/lab --service fcm --state other_sender <token>

              A device of the sandbox, whose token production does not know:
                carillon-lab devices --lab /tmp/lab --service apns_sandbox <hex>

              A UnifiedPush endpoint that is no more:
                carillon-lab devices --lab /tmp/lab --service unifiedpush --state gone <topic>

              A device that belongs to one app only:
                carillon-lab devices --lab /tmp/lab --topics com.example.app,com.example.app.voip <hex>
            """,
        aliases: ["tokens"]
    )

    @OptionGroup var lab: RunningLab

    @Option(help: "Whose devices these are.")
    var service = LabService.apns

    @Option(help: "What becomes of them from now on.")
    var state = "registered"

    @Option(help: ArgumentHelp("APNs' 410: since when, in milliseconds since 1970.", valueName: "milliseconds"))
    var since: Int64?

    @Option(help: ArgumentHelp("APNs: the topics they belong to, with commas between.", valueName: "topics"))
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

import ArgumentParser

/// The `carillon-lab` command.
@main
struct CarillonLabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carillon-lab",
        abstract:
            "Push services on loopback: APNs, FCM, HMS, Web Push, UnifiedPush, ntfy and Gotify without an account.",
        discussion: """
            Plays Apple's, Google's and Huawei's push services, browsers' push services, a UnifiedPush server, ntfy and Gotify on this \
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
        abstract: "Have a running lab forget what it received and everything it was told since its start.",
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

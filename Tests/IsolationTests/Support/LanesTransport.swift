import Core
import HTTPClient
import Push

/// Posts to the URL in a device's token.
struct LanesTransport: Transport {
    let sender: any HTTPSender

    func deliver(_ attempts: [DeliveryAttempt]) {
        for attempt in attempts { deliver(to: attempt.address, completion: attempt.completion) }
    }

    private func deliver(to address: DeviceAddress, completion: @escaping @Sendable (Outcome) -> Void) {
        let request = HTTPRequest(
            method: "POST",
            url: address.token,
            timeout: .minutes(1),
            multiplexed: address.token.hasPrefix("https:"),
            untrustedURL: true
        )
        sender.send(request) { result in
            switch result {
            case .success(let answer) where answer.status == 200:
                completion(Outcome(.delivered, status: 200, reason: "ok"))
            case .success(let answer):
                completion(Outcome(.retry, status: UInt32(answer.status), reason: "status"))
            case .failure(let failure):
                completion(Outcome(.retry, reason: failure.reason.rawValue))
            }
        }
    }
}

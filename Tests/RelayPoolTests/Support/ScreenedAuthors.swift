import NIOConcurrencyHelpers
import Nostr

/// Says of one author's events that they concern nobody.
final class ScreenedAuthors: Sendable {
    private let author: PublicKey
    private let count = NIOLockedValueBox(0)

    init(_ author: PublicKey) {
        self.author = author
    }

    var reported: Int { count.withLockedValue { $0 } }

    func make() -> any EventScreening { Reading(author, count) }

    private final class Reading: EventScreening {
        private let author: PublicKey
        private let count: NIOLockedValueBox<Int>
        private var scanner = EventScanner()
        private var passed = 0

        init(_ author: PublicKey, _ count: NIOLockedValueBox<Int>) {
            self.author = author
            self.count = count
        }

        func finding(of json: UnsafeRawBufferPointer) -> ScreeningFinding {
            guard (try? scanner.scan(json))?.pubkey == author else { return .mayConcernSomebody }
            passed += 1
            return .concernsNobody
        }

        func report() {
            count.withLockedValue { $0 += passed }
            passed = 0
        }
    }
}

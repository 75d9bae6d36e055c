import HTTPTypes
import PortolanCore
struct AuthenticationAttempts {
    struct Question { let space: ProtectionSpace; let failureCount: Int; let previousError: LoadError? }
    enum Decision { case send(HTTPField), deliver, fail(LoadError) }
    func challenge(for head: ResponseHead, to key: ConnectionKey) -> Question? { nil }
    func decide(_ a: ChallengeAnswer, on q: Question) -> Decision { .deliver }
}
enum ContentDisposition { static func filename(_ s: String) -> String? { nil } }

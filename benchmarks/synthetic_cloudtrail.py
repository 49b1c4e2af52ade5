"""CloudTrail events as AWS writes them: many services, callers and accounts, in files of a few hundred events."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

ACCOUNTS = tuple(str(111_213_141_516 + 83_716_253_949 * i % 888_000_000_000) for i in range(12))
REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-southeast-2", "sa-east-1")
ROLES = (
    "ci-deployer",
    "eks-node-group",
    "data-pipeline",
    "OrganizationAccountAccessRole",
    "lambda-orders-prod",
    "sre-oncall",
)
USERS = tuple(f"{name}.{n:02d}" for name in ("ana", "bo", "chidi", "dana", "emre", "fatima") for n in range(8))
AGENTS = (
    "aws-sdk-go-v2/1.30.3 os/linux lang/go#1.22.5 md/GOOS#linux md/GOARCH#arm64 api/ec2#1.173.0",
    "Boto3/1.34.144 md/Botocore#1.34.144 ua/2.0 os/linux#6.1.92-99.174.amzn2023.x86_64 md/arch#x86_64 lang/python#3.11.6",
    "aws-cli/2.17.9 md/awscrt#0.20.11 ua/2.0 os/macos#23.5.0 md/arch#arm64 lang/python#3.11.8 cfg/retry-mode#standard",
    "APN/1.0 HashiCorp/1.0 Terraform/1.9.2 (+https://www.terraform.io) terraform-provider-aws/5.58.0 aws-sdk-go-v2/1.30.1",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
)
ERRORS = (
    (
        "AccessDenied",
        "User: arn:aws:iam::%s:user/x is not authorized to perform this action: no identity-based policy allows it",
    ),
    ("ThrottlingException", "Rate exceeded for account %s"),
    ("NoSuchKey", "The specified key does not exist. Account %s"),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """One API call: its parameters and answer as templates over `%(…)s` fields, and how often it occurs."""

    service: str
    name: str
    read: bool
    weight: int
    request: str
    response: str = "null"
    resources: str = ""
    extra: str = ""
    data: bool = False


BUCKET = '{"accountId":"%(account)s","type":"AWS::S3::Bucket","ARN":"arn:aws:s3:::%(noun)s-%(account)s"}'
OBJECT = '{"type":"AWS::S3::Object","ARN":"arn:aws:s3:::%(noun)s-%(account)s/raw/%(id)s.parquet"}'
S3 = '{"bucketName":"%(noun)s-%(account)s","Host":"%(noun)s-%(account)s.s3.%(region)s.amazonaws.com","key":"raw/%(id)s.parquet"%(more)s}'
S3_EXTRA = (
    '{"SignatureVersion":"SigV4","CipherSuite":"TLS_AES_128_GCM_SHA256","bytesTransferredIn":0,'
    '"AuthenticationMethod":"AuthHeader","x-amz-id-2":"%(id)s%(id)s==","bytesTransferredOut":%(number)d}'
)
ROLE_ARN = '{"accountId":"%(account)s","type":"AWS::IAM::Role","ARN":"arn:aws:iam::%(account)s:role/%(noun)s"}'
KEY_ARN = '{"accountId":"%(account)s","type":"AWS::KMS::Key","ARN":"arn:aws:kms:%(region)s:%(account)s:key/%(id)s"}'
CREDENTIALS = (
    '{"credentials":{"accessKeyId":"ASIA%(key)s","sessionToken":"IQoJb3JpZ2luX2VjE%(id)s%(request)s%(id)s%(event)s",'
    '"expiration":"Oct 3, 2026, 8:35:00 PM"},"assumedRoleUser":{"assumedRoleId":"AROA%(key)s:%(noun)s",'
    '"arn":"arn:aws:sts::%(account)s:assumed-role/%(noun)s/%(id)s"}}'
)
INSTANCE = (
    '{"requestId":"%(request)s","reservationId":"r-%(key)s","ownerId":"%(account)s","groupSet":{},"instancesSet":{"items":['
    '{"instanceId":"i-%(id)s","imageId":"ami-0%(key)s","instanceState":{"code":0,"name":"pending"},"instanceType":"m7g.large",'
    '"amiLaunchIndex":0,"productCodes":{},"placement":{"availabilityZone":"%(region)sa","tenancy":"default"},'
    '"monitoring":{"state":"disabled"},"subnetId":"subnet-%(key)s","privateIpAddress":"10.0.%(octet)d.17",'
    '"tagSet":{"items":[{"key":"Name","value":"%(noun)s"},{"key":"cost-centre","value":"cc-%(octet)d"}]}}]}}'
)
KINDS = (
    Kind("s3", "GetObject", True, 18, S3.replace("%(more)s", ""), "null", f"[{BUCKET},{OBJECT}]", S3_EXTRA, data=True),
    Kind("s3", "PutObject", False, 8, S3.replace("%(more)s", ',"x-amz-server-side-encryption":"aws:kms"'),
         '{"x-amz-server-side-encryption":"aws:kms","x-amz-version-id":"%(id)s"}', f"[{BUCKET},{OBJECT}]", S3_EXTRA, data=True),
    Kind("s3", "ListObjects", True, 5, '{"list-type":"2","bucketName":"%(noun)s-%(account)s","prefix":"raw/","max-keys":"1000"}',
         "null", f"[{BUCKET}]", S3_EXTRA, data=True),
    Kind("sts", "AssumeRole", True, 14, '{"roleArn":"arn:aws:iam::%(account)s:role/%(noun)s","roleSessionName":"%(id)s",'
         '"durationSeconds":3600}', CREDENTIALS, f"[{ROLE_ARN}]"),
    Kind("sts", "GetCallerIdentity", True, 4, "null"),
    Kind("kms", "Decrypt", True, 10, '{"encryptionAlgorithm":"SYMMETRIC_DEFAULT","encryptionContext":{"aws:s3:arn":'
         '"arn:aws:s3:::%(noun)s-%(account)s"},"keyId":"%(id)s"}', "null", f"[{KEY_ARN}]"),
    Kind("kms", "GenerateDataKey", True, 5, '{"keySpec":"AES_256","keyId":"%(id)s"}', "null", f"[{KEY_ARN}]"),
    Kind("ec2", "DescribeInstances", True, 8, '{"instancesSet":{},"filterSet":{"items":[{"name":"tag:Name","valueSet":{"items":'
         '[{"value":"%(noun)s"}]}},{"name":"instance-state-name","valueSet":{"items":[{"value":"running"}]}}]}}'),
    Kind("ec2", "DescribeNetworkInterfaces", True, 4, '{"networkInterfaceIdSet":{"items":[{"networkInterfaceId":"eni-%(key)s"}]},'
         '"filterSet":{}}'),
    Kind("ec2", "RunInstances", False, 2, '{"instancesSet":{"items":[{"imageId":"ami-0%(key)s","minCount":1,"maxCount":1}]},'
         '"instanceType":"m7g.large","blockDeviceMapping":{},"clientToken":"%(id)s","ebsOptimized":true}', INSTANCE),
    Kind("ec2", "AuthorizeSecurityGroupIngress", False, 1, '{"groupId":"sg-%(key)s","ipPermissions":{"items":[{"ipProtocol":"tcp",'
         '"fromPort":443,"toPort":443,"groups":{},"ipRanges":{"items":[{"cidrIp":"10.0.0.0/8"}]}}]}}',
         '{"requestId":"%(request)s","_return":true}'),
    Kind("iam", "GetRole", True, 3, '{"roleName":"%(noun)s"}'),
    Kind("iam", "CreateAccessKey", False, 1, '{"userName":"%(noun)s"}', '{"accessKey":{"userName":"%(noun)s","status":"Active",'
         '"accessKeyId":"AKIA%(key)s","createDate":"Oct 3, 2026, 7:35:00 PM"}}'),
    Kind("lambda", "UpdateFunctionCode20150331v2", False, 2, '{"functionName":"%(noun)s","publish":true,"dryRun":false}',
         '{"functionName":"%(noun)s","runtime":"python3.11","handler":"app.handler","codeSize":%(number)d,"memorySize":512,'
         '"environment":{},"codeSha256":"%(id)s=","version":"$LATEST","tracingConfig":{"mode":"PassThrough"}}'),
    Kind("dynamodb", "DescribeTable", True, 3, '{"tableName":"%(noun)s"}', "null",
         '[{"accountId":"%(account)s","type":"AWS::DynamoDB::Table","ARN":"arn:aws:dynamodb:%(region)s:%(account)s:table/%(noun)s"}]'),
    Kind("logs", "CreateLogStream", False, 5, '{"logGroupName":"/aws/lambda/%(noun)s","logStreamName":"2026/10/03/[$LATEST]%(id)s"}'),
    Kind("ecr", "BatchGetImage", True, 3, '{"repositoryName":"%(noun)s","registryId":"%(account)s","imageIds":[{"imageTag":"%(key)s"}]}'),
    Kind("secretsmanager", "GetSecretValue", True, 3, '{"secretId":"arn:aws:secretsmanager:%(region)s:%(account)s:secret:prod/%(noun)s"}'),
    Kind("signin", "ConsoleLogin", False, 1, "null", '{"ConsoleLogin":"Success"}', "",
         '{"LoginTo":"https://console.aws.amazon.com/console/home","MobileVersion":"No","MFAUsed":"Yes"}'),
)  # fmt: skip
NOUNS = (
    "orders",
    "billing-export",
    "clickstream",
    "audit-archive",
    "feature-store",
    "media-raw",
    "web-assets",
    "payments",
)


def _template(kind: Kind) -> str:
    """The whole event of one kind; what its callers differ in is left open."""
    signin = kind.service == "signin"
    extra = f'"additionalEventData":{kind.extra},' if kind.extra else ""
    resources = f'"resources":{kind.resources},' if kind.resources else ""
    host = f"{kind.service}.%(region)s.amazonaws.com"
    return (
        '{"eventVersion":"1.11","userIdentity":%(who)s,"eventTime":"%(time)s",'
        f'"eventSource":"{kind.service}.amazonaws.com","eventName":"{kind.name}",'
        '"awsRegion":"%(region)s","sourceIPAddress":"%(ip)s","userAgent":"%(agent)s",%(error)s'
        f'"requestParameters":{kind.request},"responseElements":{kind.response},{extra}'
        f'"requestID":"%(request)s","eventID":"%(event)s","readOnly":{str(kind.read).lower()},{resources}'
        f'"eventType":"{"AwsConsoleSignIn" if signin else "AwsApiCall"}","managementEvent":{str(not kind.data).lower()},'
        f'"recipientAccountId":"%(account)s","eventCategory":"{"Data" if kind.data else "Management"}",'
        f'"tlsDetails":{{"tlsVersion":"TLSv1.3","cipherSuite":"TLS_AES_128_GCM_SHA256","clientProvidedHostHeader":"{host}"}}}}'
    )


TEMPLATES = tuple(_template(kind) for kind in KINDS)
WEIGHTS = np.array([kind.weight for kind in KINDS]) / sum(kind.weight for kind in KINDS)
_KEY_LETTERS = np.frombuffer((string.ascii_uppercase + "234567").encode(), dtype="S1")


def _key(rng: np.random.Generator, length: int = 16) -> str:
    return bytes(_KEY_LETTERS[rng.integers(0, 32, length)]).decode()


def _callers(rng: np.random.Generator, account: str, when: datetime) -> list[tuple[str, str, str]]:
    """The sessions at work in one account: identity as JSON, address, agent."""
    callers = []
    for number in range(16):
        address = ".".join(map(str, (*(rng.integers(3, 220, 2)), *(rng.integers(0, 255, 2)))))
        agent = AGENTS[rng.integers(len(AGENTS))]
        if number % 8 == 7:
            service = ("autoscaling", "ecs", "config")[rng.integers(3)] + ".amazonaws.com"
            callers.append((f'{{"type":"AWSService","invokedBy":"{service}"}}', service, service))
        elif number % 4 == 2:
            user = USERS[rng.integers(len(USERS))]
            who = (
                f'{{"type":"IAMUser","principalId":"AIDA{_key(rng)}","arn":"arn:aws:iam::{account}:user/{user}",'
                f'"accountId":"{account}","accessKeyId":"AKIA{_key(rng)}","userName":"{user}"}}'
            )
            callers.append((who, address, agent))
        else:
            role, session, principal = (
                ROLES[rng.integers(len(ROLES))],
                f"session-{_key(rng)}",
                f"AROA{_key(rng)}",
            )
            since = (when - timedelta(seconds=int(rng.integers(60, 3600)))).strftime("%Y-%m-%dT%H:%M:%SZ")
            who = (
                f'{{"type":"AssumedRole","principalId":"{principal}:{session}",'
                f'"arn":"arn:aws:sts::{account}:assumed-role/{role}/{session}","accountId":"{account}",'
                f'"accessKeyId":"ASIA{_key(rng)}","sessionContext":{{"sessionIssuer":{{"type":"Role",'
                f'"principalId":"{principal}","arn":"arn:aws:iam::{account}:role/{role}","accountId":"{account}",'
                f'"userName":"{role}"}},"webIdFederationData":{{}},"attributes":{{"creationDate":"{since}",'
                f'"mfaAuthenticated":"{"true" if number % 5 == 0 else "false"}"}}}}}}'
            )
            callers.append((who, address, agent))
    return callers


def file_name(index: int, files: int, days: int, first: datetime, rng: np.random.Generator) -> tuple[str, datetime]:
    """Where AWS would put file number `index`, and when it was delivered."""
    account, region = ACCOUNTS[index % len(ACCOUNTS)], REGIONS[index // len(ACCOUNTS) % len(REGIONS)]
    per_day = -(-files // days)
    day, place = divmod(index, per_day)
    delivered = first + timedelta(days=day, minutes=place * 1440 // per_day)
    stamp = delivered.strftime("%Y%m%dT%H%MZ")
    folder = f"AWSLogs/{account}/CloudTrail/{region}/{delivered:%Y/%m/%d}"
    return f"{folder}/{account}_CloudTrail_{region}_{stamp}_{_key(rng)}.json.gz", delivered


def events(
    index: int, count: int, delivered: datetime, rng: np.random.Generator, accounts: Sequence[str] = ACCOUNTS
) -> tuple[bytes, dict[str, int]]:
    """One file's text, and what a right reader must find in it."""
    account, region = accounts[index % len(accounts)], REGIONS[index // len(accounts) % len(REGIONS)]
    callers = _callers(rng, account, delivered)
    start = int(delivered.timestamp()) - 1020
    times = np.sort(rng.integers(0, 900, count))
    clock = [datetime.fromtimestamp(start + s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for s in range(900)]
    kinds = rng.choice(len(KINDS), count, p=WEIGHTS)
    failed = rng.random(count) < 0.04
    columns = (times, kinds, failed, rng.zipf(1.4, count) % len(callers), rng.integers(0, len(NOUNS), count),
               rng.integers(0, 255, count), rng.integers(200, 9_000_000, count), rng.integers(0, len(ERRORS), count))  # fmt: skip
    digits, keys = rng.bytes(48 * count).hex(), _key(rng, 17 * count)
    errors = [f'"errorCode":"{code}","errorMessage":"{text % account}",' for code, text in ERRORS]
    records = []
    for n, (time, kind, bad, caller, noun, octet, number, error) in enumerate(
        zip(*(c.tolist() for c in columns), strict=True)
    ):
        h = digits[96 * n : 96 * n + 96]
        who, ip, agent = callers[caller]
        records.append(TEMPLATES[kind] % {
            "who": who, "time": clock[time], "region": region, "ip": ip, "agent": agent, "account": account,
            "error": errors[error] if bad else "", "noun": NOUNS[noun], "octet": octet, "number": number,
            "request": f"{h[:8]}-{h[8:12]}-4{h[13:16]}-9{h[17:20]}-{h[20:32]}", "key": keys[17 * n : 17 * n + 16],
            "event": f"{h[32:40]}-{h[40:44]}-4{h[45:48]}-8{h[49:52]}-{h[52:64]}", "id": h[64:],
        })  # fmt: skip
    found = {
        "rows": count,
        "seconds": int(times.sum()) + start * count,
        "errors": int(failed.sum()),
        "reads": int(np.isin(kinds, [i for i, k in enumerate(KINDS) if k.read]).sum()),
        "requests": int(np.isin(kinds, [i for i, k in enumerate(KINDS) if k.request != "null"]).sum()),
    }
    return f'{{"Records":[{",".join(records)}]}}'.encode(), found

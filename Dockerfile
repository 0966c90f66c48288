# docker build -t gradcheck . && docker run --rm -p 8000:8000 -v "$PWD/practice:/practice" gradcheck
FROM python:3.12-slim
COPY . /src
RUN GRADCHECK_PURE=1 pip install --no-cache-dir "/src[web]" && rm -rf /src \
    && useradd --create-home grader && mkdir /practice && chown grader /practice
USER grader
WORKDIR /practice
EXPOSE 8000
ENTRYPOINT ["gradcheck"]
CMD ["serve", "--host", "0.0.0.0", "-o", "/practice/attempts"]
